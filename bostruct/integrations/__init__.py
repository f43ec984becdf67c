"""Bridges to other libraries, which only the bridges themselves import."""
