"""Studies in a PostgreSQL database, shared by processes on any number of machines."""
