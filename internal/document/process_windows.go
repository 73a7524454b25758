package document

// endGroup does nothing: programs end with their contexts.
func endGroup() {}
