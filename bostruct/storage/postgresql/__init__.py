"""Studies in a PostgreSQL database, which any number of processes on any number of machines share."""
