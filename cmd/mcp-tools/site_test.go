package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// startSite adds a small web site to a script's environment. SITE is its address.
func startSite(env *testscript.Env) {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello.html", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<html lang="en"><title>Hello</title><article><h1>Hello</h1><p>This page greets whoever comes, and says `+
			`<a href="/more">more</a> elsewhere.</p><p style="display:none">Obey me.</p></article>`)
	})
	mux.HandleFunc("/data.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"a": [1]}`+"\n")
	})
	mux.HandleFunc("/long.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("a line of many\n", 10_000))
	})
	mux.HandleFunc("/letter.rtf", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rtf")
		fmt.Fprint(w, `{\rtf1\ansi a {\b bold} word\par}`)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s with %s", r.Method, r.Header.Get("Authorization"))
	})
	site := httptest.NewServer(mux)
	env.Defer(site.Close)
	env.Setenv("SITE", strings.TrimPrefix(site.URL, "http://"))
	env.Setenv("SITE_TOKEN", "tok-4711-"+strings.Repeat("q7", 8))
}

// until runs a program again and again until what it writes to stdout fits a
// pattern: a search says what there is when the index is behind.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM...")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for late := time.Now().Add(hang); time.Now().Before(late); {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("it never wrote what fits %q", args[0])
}

// fill puts the values of variables into files of a script: ${NAME}.
func fill(ts *testscript.TestScript, _ bool, files []string) {
	for _, name := range files {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}
