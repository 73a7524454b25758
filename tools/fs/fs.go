package fs

const group = "fs"
