package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// run runs code with a server that answers calls with answer.
func run(t *testing.T, start Start, answer func(Call) Reply) (End, string) {
	t.Helper()
	var end End
	var printed string
	replies := make(chan Reply, 1)
	written := writer(func(p []byte) (int, error) {
		var m Message
		if err := Receive(bytes.NewReader(p), &m); err != nil {
			t.Error(err)
		}
		printed += m.Printed
		if m.Call != nil {
			replies <- answer(*m.Call)
		} else {
			end = *m.End
		}
		return len(p), nil
	})
	if err := Run(start, written, replies); err != nil {
		t.Fatal(err)
	}
	return end, printed
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// echo answers a call with its arguments.
func echo(c Call) Reply {
	switch c.Tool {
	case "text":
		return Reply{Text: "some text"}
	case "fails":
		return Reply{Error: "not_found: no file", Kind: "not_found"}
	}
	return Reply{Value: json.RawMessage(`{"tool":"` + c.Tool + `","args":` + string(c.Args) + `}`)}
}

func TestReturns(t *testing.T) {
	for code, want := range map[string]string{
		`return 1 + 1`:                      `2`,
		`return "a"`:                        `"a"`,
		`return [1, null]`:                  `[1,null]`,
		`return`:                            ``,
		`1`:                                 ``,
		`return tools.text({})`:             `"some text"`,
		`return await tools.add({a: 1})`:    `{"tool":"add","args":{"a":1}}`,
		`return tools["odd-name"]()`:        `{"tool":"odd-name","args":{}}`,
		`return call("x", {a: [1]}).args.a`: `[1]`,
		`const all = await Promise.all([tools.text(), 2]); return all`:                                 `["some text",2]`,
		`return (await Promise.all([1, 2].map(async n => tools.n({n})))).map(r => r.args.n)`:           `[1,2]`,
		`try { tools.fails({}) } catch (e) { return [e.kind, e.tool, e.message, e instanceof Error] }`: `["not_found","fails","not_found: no file",true]`,
		`try { await tools.fails({}) } catch { return "caught" }`:                                      `"caught"`,
		`return Object.keys(tools)`:                   `["text","fails"]`,
		`return ["text" in tools, typeof tools.text]`: `[true,"function"]`,
		`() => 5`:                             `5`,
		`async () => { return tools.text() }`: `"some text"`,
		`async function main() { return 6 };`: `6`,
		`async (t) => { return t.text() }`:    `"some text"`,
		`(async () => 7)()`:                   ``,
		`return await (async () => 7)()`:      `7`,
		`await sleep(1); return "slept"`:      `"slept"`,
		`let n = 0; await new Promise(r => { const f = () => ++n < 3 ? setTimeout(f, 1) : r(); f() }); return n`: `3`,
		`const id = setTimeout(() => print("no"), 1); clearTimeout(id); await sleep(5); return 1`:                `1`,
		`const x: number = 3; return x as any`: `3`,
		`interface A { b: string }
		 type C = A | null
		 function f<T extends A>(a: T, c?: C): string { return a.b! }
		 const g = (a: A): a is A => !!a
		 enum E { One = 1 }
		 return [f({b: "hi"} satisfies A), g({b: ""}), E.One]`: `["hi",true,1]`,
		`async (): Promise<number> => { return 8 }`: `8`,
		`async function* two() { yield 1; yield 2 }
		 let sum = 0; for await (const n of two()) sum += n; return sum`: `3`,
		`class A { #x = 1; static y = 2; get x() { return this.#x } } return new A().x + A.y`:     `3`,
		`return [..."aXb".matchAll(/x/gi)].length + [1, 2].at(-1) + (null ?? 1) + ({}.a?.b ?? 1)`: `5`,
		`return (10n ** 20n).toString()`:                         `"100000000000000000000"`,
		`return JSON.stringify(new Date(0))`:                     `"\"1970-01-01T00:00:00.000Z\""`,
		`delete tools.text; tools.text = 1; return tools.text()`: `"some text"`,
	} {
		end, _ := run(t, Start{Code: code, Tools: []string{"text", "fails"}}, echo)
		got := string(end.Value)
		if end.Value == nil && end.Text != "" {
			quoted, _ := json.Marshal(end.Text)
			got = string(quoted)
		}
		if got != want || end.Error != "" {
			t.Errorf("%s: got %s %q, want %s", code, got, end.Error, want)
		}
	}
}

func TestFaults(t *testing.T) {
	for code, want := range map[string]struct {
		text string
		line int
	}{
		"let a = 1\nlet x = ;":                          {"SyntaxError: Unexpected", 2},
		"import fs from 'fs'\nreturn 1":                 {"a script imports nothing", 1},
		"\nthrow new TypeError('bad')":                  {"TypeError: bad", 2},
		"const x: number = 1\n\nthrow Error('typed')":   {"Error: typed", 3},
		"throw {a: 1}":                                  {`threw {"a":1}`, 0},
		"throw 'text'":                                  {"threw text", 0},
		"return 1\n+ missing":                           {"missing is not defined; beside the language", 2},
		"tools.fails({})":                               {"tools.fails: not_found: no file", 1},
		"\nawait (async () => {\n tools.fails({}) })()": {"tools.fails: not_found: no file", 3},
		"tools.text({}).then(x => x)":                   {"use await", 1},
		"function f() { return f() }\nreturn f()":       {"too many functions", 1},
		"await new Promise(() => {})":                   {"nothing resolves", 0},
		"return 12n":                                    {"BigInt", 0},
		"const a = {}; a.a = a; return a":               {"circular", 0},
		"const a = {}; a.a = a; tools.text(a)":          {"circular", 1},
		"}); (async function () {":                      {"", 0},
		"return require('fs')":                          {"require is not defined", 1},
		"return eval('tools.fails()')":                  {"not_found", 1},
	} {
		end, _ := run(t, Start{Code: code}, echo)
		if !strings.Contains(end.Error, want.text) || end.Error == "" && want.text != "" || end.Line != want.line {
			t.Errorf("%s: got %q at %d, want %q at %d", code, end.Error, end.Line, want.text, want.line)
		}
	}
}

func TestPrints(t *testing.T) {
	end, printed := run(t, Start{Code: `print("a", 1, {b: [2]}, undefined); tools.text(); console.log("after"); return args.n`,
		Args: json.RawMessage(`{"n":4}`)}, echo)
	if want := "a 1 {\"b\":[2]} undefined\nafter\n"; printed != want || string(end.Value) != "4" {
		t.Errorf("got %q and %s, want %q", printed, end.Value, want)
	}
	_, printed = run(t, Start{Code: `for (let i = 0; i < 100000; i++) print("0123456789")`}, echo)
	if len(printed) > maxPrinted+100 || !strings.HasSuffix(printed, "[no more is printed]\n") {
		t.Errorf("%d bytes were printed", len(printed))
	}
}

// TestLongResult returns more than a message holds.
func TestLongResult(t *testing.T) {
	end, _ := run(t, Start{Code: `return "x".repeat(17 * 1024 * 1024)`}, echo)
	if !strings.Contains(end.Error, "return less") {
		t.Errorf("got %q", end.Error)
	}
}
