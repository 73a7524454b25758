package store

import (
	"context"
	"errors"
	"time"
)

// A Rate is so many times per period in the long run, with so many at once.
type Rate struct {
	Times  int
	Period time.Duration
	Burst  int
}

// Take uses a rate once, for all processes together, and says how long to wait
// when it is used up. Of a key only one number is kept: when everything that
// was taken so far will have been earned again.
func (s *Store) Take(ctx context.Context, key string, r Rate) (wait time.Duration, err error) {
	if r.Times <= 0 || r.Burst <= 0 || r.Period <= 0 {
		return 0, errors.New("store: a rate that allows nothing")
	}
	cost := max(r.Period.Milliseconds()/int64(r.Times), 1)
	room := cost * int64(r.Burst)
	err = s.Update(ctx, func(t *Tx) error {
		wait = 0
		n, err := t.Exec(`INSERT INTO rate (key, tat) VALUES ($1, {{now}} + $2)
			ON CONFLICT (key) DO UPDATE SET tat = {{max}}(rate.tat, {{now}}) + $2
			WHERE {{max}}(rate.tat, {{now}}) + $2 <= {{now}} + $3`, key, cost, room)
		if err != nil || n > 0 {
			return err
		}
		var ms int64
		if err := t.Row("SELECT tat + $2 - $3 - {{now}} FROM rate WHERE key = $1", []any{key, cost, room}, &ms); err != nil {
			return err
		}
		wait = time.Duration(max(ms, 1)) * time.Millisecond
		return nil
	})
	return wait, err
}

// ForgetRates removes keys that have earned everything again.
func (s *Store) ForgetRates(ctx context.Context) error {
	return s.Update(ctx, func(t *Tx) error {
		_, err := t.Exec("DELETE FROM rate WHERE tat < {{now}}")
		return err
	})
}
