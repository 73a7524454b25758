package policy

import "fmt"

// A Tool has the properties of a tool that rules can match.
type Tool struct {
	Name  string
	Also  []string // its names in other systems
	Group string   // "fs" for group:fs
	Risk  Risk     // of its riskiest call
}

// A Risk is the worst harm that one call can do. The zero Risk is denied.
type Risk uint8

// The risks, the lowest first. They are ordered: a later one
// includes everything that an earlier one can do.
const (
	unrated  Risk = iota
	Reads         // changes nothing
	Writes        // adds or changes something, and the change can be reverted
	Destroys      // removes or overwrites something permanently
	Runs          // runs code, or acts in the caller's name
)

var riskNames = [...]string{unrated: "unrated", Reads: "reads", Writes: "writes", Destroys: "destroys", Runs: "runs"}

func (r Risk) String() string {
	if int(r) < len(riskNames) {
		return riskNames[r]
	}
	return fmt.Sprintf("risk(%d)", uint8(r))
}

// Valid reports whether r is one of the risks above.
func (r Risk) Valid() bool { return r > unrated && r <= Runs }

// MarshalText writes the risk as a word.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
