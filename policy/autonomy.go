package policy

// Autonomy is how much may happen without an approval. The empty Autonomy leaves
// the choice to the level above.
type Autonomy string

// The levels, the strictest first.
const (
	ReadOnly   Autonomy = "readonly"   // reads; everything else is denied
	Supervised Autonomy = "supervised" // reads and writes; other calls need an approval
	Full       Autonomy = "full"       // everything
)

// rank returns the order of the level, 0 for an unknown one.
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

// verdict returns the verdict of the level on a risk. It is Deny for an invalid
// risk and for an unknown level.
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

// A limit is an autonomy and the path of the rule that sets it.
type limit struct {
	level Autonomy
	by    string
}

// lower returns the stricter of l and the level a, which the rule by sets.
func (l limit) lower(a Autonomy, by string) limit {
	if a.rank() != 0 && (l.level.rank() == 0 || a.rank() < l.level.rank()) {
		return limit{a, by}
	}
	return l
}
