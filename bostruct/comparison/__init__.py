"""Methods x seeds on problems: runs over processes, paired statistics, tables and pictures."""
