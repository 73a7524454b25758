package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// sqlitePoll notices what other processes have written by a number that SQLite
// keeps for that: asking for it reads no table.
type sqlitePoll struct{ store *Store }

const pollEvery = 150 * time.Millisecond

// send has nothing to do: the others look.
func (*sqlitePoll) send(context.Context, []string) error { return nil }

func (p *sqlitePoll) receive(ctx context.Context, changed func(...string)) error {
	if err := p.store.open(ctx); err != nil {
		return err
	}
	conn, err := p.store.read.Conn(ctx) // the number is that of one connection
	if err != nil {
		return err
	}
	defer conn.Close()
	var before int64
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	last := time.Now()
	for {
		var now int64
		if err := conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
			return err
		}
		if now != before || time.Since(last) > maxStale {
			before, last = now, time.Now()
			changed()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pgListen uses NOTIFY, in statements of their own: within the transaction that
// writes, it would make all commits wait for each other.
type pgListen struct {
	config *pgx.ConnConfig
	store  *Store
}

const (
	channel = "mcp_tools"
	// maxPayload is what fits into a notification; more topics are told as «all».
	maxPayload = 7000
)

func (p *pgListen) send(ctx context.Context, topics []string) error {
	payload := strings.Join(topics, "\n")
	if len(payload) > maxPayload {
		payload = ""
	}
	_, err := p.store.write.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, payload)
	return err
}

func (p *pgListen) receive(ctx context.Context, changed func(...string)) error {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // it was for listening only
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	changed() // what came before we listened
	for {
		wait, cancel := context.WithTimeout(ctx, maxStale)
		n, err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil && n.Payload != "":
			changed(strings.Split(n.Payload, "\n")...)
		case err == nil, errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			changed()
		default:
			return err
		}
		if conn.IsClosed() {
			return errors.New("the connection was closed")
		}
	}
}
