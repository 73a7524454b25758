package policy

// Autonomy is how much may happen without an approval. The empty Autonomy leaves
// the choice to the level above.
type Autonomy string

// The levels, from the most careful to the least.
const (
	ReadOnly   Autonomy = "readonly"   // reads; everything else is denied
	Supervised Autonomy = "supervised" // reads and writes; a person is asked about the rest
	Full       Autonomy = "full"       // everything
)

// rank orders the levels; 0 is no level.
func (a Autonomy) rank() int {
	switch a {
	case ReadOnly:
		return 1
	case Supervised:
		return 2
	case Full:
		return 3
	}
	return 0
}

// verdict is what the level makes of a risk. What was not rated, and a level
// that does not exist, end in Deny.
func (a Autonomy) verdict(risk Risk) Verdict {
	if !risk.Valid() {
		return Deny
	}
	switch a {
	case ReadOnly:
		if risk == Reads {
			return Allow
		}
	case Supervised:
		if risk <= Writes {
			return Allow
		}
		return Ask
	case Full:
		return Allow
	}
	return Deny
}

// A limit is an autonomy and who set it.
type limit struct {
	level Autonomy
	by    string
}

// lower returns the more careful of l and the level a that by has set.
func (l limit) lower(a Autonomy, by string) limit {
	if a.rank() != 0 && (l.level.rank() == 0 || a.rank() < l.level.rank()) {
		return limit{a, by}
	}
	return l
}
