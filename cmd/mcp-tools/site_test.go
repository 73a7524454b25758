package main

import (
	"encoding/json"
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
	mux.HandleFunc("/{bot}/{method}", siteBot)
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

// siteBot answers as the API of Telegram does, for one bot and all chats but 404.
func siteBot(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // without a body it stays empty
	switch {
	case !strings.HasPrefix(r.PathValue("bot"), "bot4711:"):
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"ok": false, "error_code": 401, "description": "Unauthorized"}`)
	case r.PathValue("method") == "getMe":
		fmt.Fprint(w, `{"ok": true, "result": {"id": 1, "is_bot": true, "username": "site_bot"}}`)
	case fmt.Sprint(body["chat_id"]) == "404":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"ok": false, "error_code": 400, "description": "Bad Request: chat not found"}`)
	default:
		fmt.Fprint(w, `{"ok": true, "result": {"message_id": 7, "date": 0, "chat": {"id": 5, "type": "private"}}}`)
	}
}
