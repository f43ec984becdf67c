"""Studies under fire: processes killed, files damaged and forged, objectives that misbehave, spaces of all kinds."""
