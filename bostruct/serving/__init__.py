"""Studies served to other programs: one protocol, spoken over HTTP and over standard input and output."""
