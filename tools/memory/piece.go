package memory

import "time"

// A Piece is a part of a document with a vector that says what it means, for
// those who keep and compare them.
type Piece struct {
	Document string // its ID
	Version  int64
	N        int // which part
	Owner    Owner
	Path     string
	Category string
	Updated  time.Time
	Expires  time.Time // zero: never
	Vector   []byte
}

// A Vector is what a text means, with the digest of it by which it is known.
type Vector struct {
	Digest string
	Data   []byte
}
