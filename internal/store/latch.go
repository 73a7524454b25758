package store

// latchTable has a row for everything that only one may do at a time. The rows
// say nothing, and copies of a store do without them.
const latchTable = "latch"

// latch keeps others who take the latch of that name waiting until the
// transaction ends. It comes before everything else that a transaction changes,
// so that no two wait for each other.
func (t *Tx) latch(name string) error {
	_, err := t.Exec("INSERT INTO latch (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name", name)
	return err
}
