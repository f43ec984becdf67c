"""Stress tests of studies: killed processes, damaged and forged files, hostile objectives, spaces of all kinds."""
