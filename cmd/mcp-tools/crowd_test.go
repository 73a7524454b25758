//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// crowdSize is the number of servers, and of documents that each stores.
// MCP_TOOLS_CROWD=20x1000 makes a crowd of another size, for those who have
// minutes.
func crowdSize(t *testing.T, members, each int) (int, int) {
	t.Helper()
	if text := os.Getenv("MCP_TOOLS_CROWD"); text != "" {
		if _, err := fmt.Sscanf(text, "%dx%d", &members, &each); err != nil || members < 1 || each < 1 {
			t.Fatalf("MCP_TOOLS_CROWD is %q, and should be like 20x1000", text)
		}
	}
	return members, each
}

func newCrowd(t *testing.T, size, each int, start func(n int) (link, error)) *crowd {
	c := &crowd{
		t: t, each: each, buried: buried(t), calm: make(chan struct{}), acks: make(chan struct{}, size*each),
		heard: map[string]int{},
	}
	for n := range size {
		c.members = append(c.members, &member{crowd: c, n: n, start: func() (link, error) { return start(n) }})
	}
	t.Cleanup(func() {
		for _, m := range c.members {
			m.die()
		}
	})
	return c
}

// TestManyServersOnOneDirectory has servers over stdio share a data directory,
// as those of several clients do, and kills them while they write. Nothing that
// was acknowledged is lost, and all servers find everything.
func TestManyServersOnOneDirectory(t *testing.T) {
	size, each := crowdSize(t, 4, 40)
	path, data := ourselves(t), t.TempDir()
	settings := crowdSettings(t, "")
	c := newCrowd(t, size, each, func(int) (link, error) {
		return dialPipe(t, apart(path, "--data", data, "--config", settings, "--profile", "coding", "--autonomy", "full"))
	})
	close(c.calm) // members die, but each in its own time
	began := time.Now()
	c.write()
	stop := c.killNowAndThen(3 * size)
	c.writing.Wait()
	c.tell(began, stop())
	c.check()
	c.checkStatus("sqlite", finish(t, apart(path, "store", "status", "--data", data, "--output", "json")))
	t.Logf("audit: %s", strings.TrimSpace(finish(t, apart(path, "audit", "verify", "--data", data))))
	logSizes(t, data)
}

// TestManyReplicasOnOneDatabase has servers over HTTP, with separate data
// directories, share a PostgreSQL that cuts their connections and goes
// away, while they are killed too.
func TestManyReplicasOnOneDatabase(t *testing.T) {
	size, each := crowdSize(t, 3, 40)
	pg := storetest.Postgres(t)
	dsn := pg.DSN("postgres")
	path, settings := ourselves(t), crowdSettings(t, dsn)
	dirs, tokens := make([]string, size), make([]string, size)
	for n := range size {
		dirs[n] = t.TempDir()
		made := finish(t, apart(path, "token", "create", "--name", fmt.Sprint("member-", n), "--profile", "coding", "--user", "ann",
			"--config", settings, "--data", dirs[n]))
		tokens[n] = regexp.MustCompile(`mcpt_\w+`).FindString(made)
	}
	c := newCrowd(t, size, each, func(n int) (link, error) {
		return dialWire(apart(path, "serve", "--http", "127.0.0.1:0", "--config", settings, "--data", dirs[n], "--autonomy", "full"), tokens[n])
	})
	began := time.Now()
	c.write()
	stop := c.killNowAndThen(2 * size)
	cutConnections(t, dsn, 12)
	for range 2 {
		c.awaitCount("acknowledgements", size*each/8, func() int { return len(c.docs) })
		pg.Stop(t, "immediate")
		c.awaitCount("troubles", 5*size, c.troubles)
		pg.Start(t)
	}
	c.awaitCount("acknowledgements", size*each/8, func() int { return len(c.docs) })
	close(c.calm)
	c.writing.Wait()
	c.tell(began, stop())
	c.check()
	for n := range size {
		t.Logf("audit: %s", strings.TrimSpace(finish(t, apart(path, "audit", "verify", "--config", settings, "--data", dirs[n]))))
	}
	c.checkStatus("postgres", finish(t, apart(path, "store", "status", "--config", settings, "--data", dirs[0], "--output", "json")))
}

// crowdSettings returns a settings file with limits that delay no call.
func crowdSettings(t *testing.T, dsn string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := generous
	if dsn != "" {
		text += "store: {dsn: '" + dsn + "'}\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// killNowAndThen kills so many servers, at random moments while documents are
// stored. Stop says how many it were.
func (c *crowd) killNowAndThen(kills int) (stop func() int) {
	ctx, cancel := context.WithCancel(c.t.Context())
	killed := make(chan int, 1)
	usual := max(len(c.members)*c.each/kills, 1)
	go func() {
		n := 0
		defer func() { killed <- n }()
		for n < kills {
			for range 1 + rand.IntN(2*usual) {
				select {
				case <-c.acks:
				case <-ctx.Done():
					return
				}
			}
			if c.members[rand.IntN(len(c.members))].die() {
				n++
			}
		}
	}()
	return func() int { cancel(); return <-killed }
}

// awaitCount waits until there are so many more of something.
func (c *crowd) awaitCount(what string, more int, count func() int) {
	c.t.Helper()
	have := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return count()
	}
	late := time.Now().Add(patience)
	for first := have(); have() < first+more; rest(c.t.Context(), 0) {
		if c.t.Failed() || time.Now().After(late) {
			c.t.Fatalf("there are %d %s and not %d more", have(), what, more)
		}
	}
}

func (c *crowd) troubles() (n int) {
	for _, times := range c.heard {
		n += times
	}
	return n
}

// cutConnections ends all connections of servers to a database, so many times.
func cutConnections(t *testing.T, dsn string, times int) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	ended := 0
	for range times {
		<-tick.C
		var n int
		const cut = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'mcp-tools'`
		if err := db.QueryRow(t.Context(), cut).Scan(&n); err != nil {
			t.Fatal(err)
		}
		ended += n
	}
	t.Logf("%d connections were cut", ended)
}
