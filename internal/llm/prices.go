package llm

import (
	"embed"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A Price is in dollars per million tokens: millionths of a dollar per token.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }

// Of returns the price of a usage.
func (p Price) Of(u Usage) Money {
	return Money(math.Ceil(float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite))
}

// highest returns the highest price of an input token, cached or not.
func (p Price) highest() float64 { return max(p.Input, p.CacheRead, p.CacheWrite) }

// ParsePrice reads "3/15": the price of the input and of the output. The cache counts
// as input.
func ParsePrice(text string) (p Price, err error) {
	n, err := fmt.Sscanf(strings.ReplaceAll(text, "/", " "), "%g %g", &p.Input, &p.Output)
	if err != nil || n != 2 || p.Input < 0 || p.Output < 0 || math.IsInf(p.Input+p.Output, 0) {
		return Price{}, fmt.Errorf("the price %q is not like 3/15", text)
	}
	p.CacheRead, p.CacheWrite = p.Input, p.Input
	return p, nil
}

// A known model has a price, and perhaps an end.
type known struct {
	Price
	end time.Time // zero: none is announced
}

//go:embed models.txt
var modelsFile embed.FS

// knownModels returns the table of models.txt.
var knownModels = sync.OnceValue(func() map[string]known {
	table := make(map[string]known)
	content, err := modelsFile.ReadFile("models.txt")
	if err != nil {
		panic(err) // it is embedded
	}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name, end string
		var k known
		if _, err := fmt.Sscan(line, &name, &k.Input, &k.Output, &k.CacheRead, &k.CacheWrite, &end); err != nil {
			panic(fmt.Sprintf("models.txt: %q: %v", line, err)) // a test reads the table
		}
		if end != "-" {
			var err error
			if k.end, err = time.Parse(time.DateOnly, end); err != nil {
				panic("models.txt: " + err.Error())
			}
		}
		table[name] = k
	}
	return table
})

var dated = regexp.MustCompile(`-20[0-9]{2}-?[0-9]{2}-?[0-9]{2}$`)

func knownModel(name string) (known, bool) {
	table := knownModels()
	k, ok := table[name]
	if !ok {
		k, ok = table[dated.ReplaceAllString(name, "")]
	}
	return k, ok
}

// EndOf returns when the provider ends a model; zero if that is not known.
func EndOf(model string) time.Time {
	k, _ := knownModel(model)
	return k.end
}

// PriceOf returns the price of a model in the table.
func PriceOf(model string) (Price, bool) {
	k, ok := knownModel(model)
	return k.Price, ok
}
