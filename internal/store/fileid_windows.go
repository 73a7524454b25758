package store

// FileID is "" on Windows.
func FileID(string) string { return "" }
