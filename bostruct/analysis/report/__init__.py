"""Reports of studies: one HTML page with a description, plots and tables of runs."""
