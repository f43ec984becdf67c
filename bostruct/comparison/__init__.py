"""Methods x seeds on problems: runs in several processes, paired statistics, tables and plots."""
