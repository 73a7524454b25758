package tool_test

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// weekday is a tool. It needs nothing of the server, so it has no fields.
type weekday struct{}

type weekdayArgs struct {
	Date string `json:"date" jsonschema:"date, such as 2026-02-28" alias:"day"`
}

func (weekday) Spec() tool.Spec {
	return tool.Spec{
		Name: "weekday", Group: "automation", Title: "Weekday", Risk: tool.Reads,
		Doc: "Returns the weekday of a date.",
	}
}

func (weekday) Do(_ context.Context, args weekdayArgs) (tool.Result, error) {
	at, err := time.Parse(time.DateOnly, args.Date)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%q is not a date", args.Date).Try("send it as 2026-02-28")
	}
	return tool.Text(at.Weekday().String()), nil
}

// A Set finds a tool by the name in a call. Bind checks the arguments, here under another name
// that models use, and fills the struct that Do gets.
func ExampleNew() {
	set, err := tool.NewSet(tool.New(weekday{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range []string{`{"day": "2026-02-28"}`, `{"date": "tomorrow"}`} {
		t, _ := set.Lookup("weekday")
		call, err := t.Bind([]byte(args), tool.DefaultLimits())
		if err != nil {
			fmt.Println(err)
			continue
		}
		result, err := call.Run(context.Background())
		if err != nil {
			result = tool.Failure(err)
		}
		fmt.Println(result.Text())
	}
	// Output:
	// Saturday
	// invalid: "tomorrow" is not a date; send it as 2026-02-28
}
