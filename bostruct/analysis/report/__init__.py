"""Reports of studies: one page of HTML with the story, the pictures and the tables of runs."""
