"""Studies served to other programs: one protocol over HTTP and over standard input and output."""
