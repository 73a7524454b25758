package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// checkStore looks whether the store can be used. What is kept in it is not
// looked at when it cannot.
func (c *checkup) checkStore() (usable bool) {
	const check = "store"
	o, err := c.env.StoreOptions(c.settings.Config, nil)
	if err != nil {
		c.fail(check, "mend store.dsn, or make the secret that it refers to", "%v", err)
		return false
	}
	if store.Missing(o.DSN) {
		c.ok(check, "SQLite; it will be made when something is to be kept")
		return true
	}
	s, err := store.Open(c.ctx, o)
	if err != nil {
		c.fail(check, "see that it runs and that store.dsn is right; what is kept in it was not looked at", "%v", err)
		return false
	}
	st, err := s.Status(c.ctx)
	if err = errors.Join(err, s.Close()); err != nil {
		c.fail(check, "see to what it says; what is kept in it was not looked at", "%v", err)
		return false
	}
	c.ok(check, "%s at %s, %s", map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL"}[st.Engine], st.Location, terminal.FileSize(st.Bytes))
	return true
}

// checkEmbeddings asks the endpoint, where there is one, what a word means.
func (c *checkup) checkEmbeddings() {
	const check = "embeddings"
	if c.settings.Config.Memory.Embeddings.URL == "" {
		return
	}
	encoder, _, err := c.env.Encoder(c.settings.Config)
	if err != nil {
		c.fail(check, "mend the setting, or make the secret that it refers to", "%v", err)
		return
	}
	defer encoder.Close()
	ctx, cancel := context.WithTimeout(c.ctx, 20*time.Second)
	defer cancel()
	numbers, err := encoder.Query(ctx, "hello")
	if err != nil {
		c.warn(check, "see that memory.embeddings is right and the endpoint runs; until then memory is searched by words alone", "%v", err)
		return
	}
	c.ok(check, "%s answers with %s", c.settings.Config.Memory.Embeddings.URL, text.Plural(len(numbers), "number"))
}
