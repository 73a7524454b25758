package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/embed"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/automation"
)

// checkStore reports whether the store can be used. If not, its content is not
// checked.
func (c *checkup) checkStore() (usable bool) {
	const check = "store"
	o, err := c.env.StoreOptions(c.settings.Config, nil)
	if err != nil {
		c.fail(check, "correct store.dsn, or set the secret that it refers to", "%v", err)
		return false
	}
	if store.Missing(o.DSN) {
		c.ok(check, "SQLite; it is created when data is first stored")
		return true
	}
	s, err := store.Open(c.ctx, o)
	if err != nil {
		c.fail(check, "check that it runs and that store.dsn is right; its content was not checked", "%v", err)
		return false
	}
	st, err := s.Status(c.ctx)
	if err == nil {
		err = errors.Join(c.checkJobs(s), c.checkOutbox(s))
	}
	if err = errors.Join(err, s.Close()); err != nil {
		c.fail(check, "fix the cause; its content was not checked", "%v", err)
		return false
	}
	engine := map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL"}[st.Engine]
	c.ok(check, "%s at %s, %s", engine, st.Location, terminal.FileSize(st.Bytes))
	return true
}

// checkJobs reports whether a server runs the scheduled jobs.
func (c *checkup) checkJobs(s *store.Store) error {
	enabled, overdue, err := automation.Overdue(c.ctx, s)
	const check = "jobs"
	switch {
	case err != nil || enabled == 0:
	case overdue > 0:
		c.warn(check, "start a server, or mcp-tools serve --jobs-only, which does nothing else",
			"%d of %s should have run by now; no server runs them", overdue, text.Plural(enabled, "scheduled job"))
	default:
		c.ok(check, "%s; they run while a server runs", text.Plural(enabled, "scheduled job"))
	}
	return err
}

// checkEmbeddings asks the embeddings endpoint for a vector, if there is one.
func (c *checkup) checkEmbeddings() {
	const check = "embeddings"
	if c.settings.Config.Memory.Embeddings.URL == "" {
		return
	}
	client, err := app.ServiceClient(c.settings.Config, embed.Limits(), c.settings.Config.Memory.Embeddings.URL)
	if err != nil {
		c.fail(check, "correct web.proxy", "%v", err)
		return
	}
	defer client.Close()
	encoder, _, err := c.env.Encoder(c.settings.Config, client)
	if err != nil {
		c.fail(check, "correct the setting, or set the secret that it refers to", "%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, 20*time.Second)
	defer cancel()
	numbers, err := encoder.Query(ctx, "hello")
	if err != nil {
		c.warn(check,
			"check memory.embeddings and the endpoint; until then memories are found by words only", "%v", err)
		return
	}
	c.ok(check, "%s answers with vectors of %s",
		c.settings.Config.Memory.Embeddings.URL, text.Plural(len(numbers), "number"))
}
