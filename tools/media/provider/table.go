package provider

import (
	"embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// A Row is a model of the table.
type Row struct {
	Task   wire.Task
	Kind   Kind
	Model  string
	Price  float64 // in dollars
	Per    wire.Unit
	Ends   time.Time // zero: no end is announced
	Params wire.Params
}

//go:embed models.txt
var modelsFile embed.FS

// Table returns the models that are known.
func Table() []Row { return slices.Clone(table()) }

var table = sync.OnceValue(func() []Row {
	content, err := modelsFile.ReadFile("models.txt")
	if err != nil {
		panic(err) // it is embedded
	}
	var rows []Row
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row, err := parseRow(line)
		if err != nil {
			panic(fmt.Sprintf("models.txt: %q: %v", line, err)) // a test reads the table
		}
		rows = append(rows, row)
	}
	return rows
})

func parseRow(line string) (row Row, err error) {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return row, fmt.Errorf("it has %d fields", len(fields))
	}
	if _, err := fmt.Sscan(strings.Join(fields[:5], " "), &row.Task, &row.Kind, &row.Model, &row.Price,
		&row.Per); err != nil {
		return row, err
	}
	if fields[5] != "-" {
		if row.Ends, err = time.Parse(time.DateOnly, fields[5]); err != nil {
			return row, err
		}
	}
	row.Params = wire.Params{}
	for _, one := range fields[6:] {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			return row, fmt.Errorf("%q is not NAME=VALUE", one)
		}
		row.Params[name] = value
	}
	return row, nil
}

// Ended reports whether the provider refuses requests to a model.
func (r Row) Ended(now time.Time) bool { return !r.Ends.IsZero() && !now.Before(r.Ends) }

// lookup returns the row of a model. If model is "" it is the default of a provider: the
// first one that has not ended, or the first one.
func lookup(t wire.Task, k Kind, model string, now time.Time) (found Row, ok bool) {
	for _, row := range table() {
		switch {
		case row.Task != t || row.Kind != k:
		case row.Model == model, model == "" && !row.Ended(now):
			return row, true
		case model == "" && !ok:
			found, ok = row, true
		}
	}
	return found, ok
}

// cost returns the price of a request to a model.
func (r Row) cost(request wire.Request) llm.Money {
	return llm.Money(math.Ceil(r.Price * request.Amount(r.Per) * 1e6))
}
