package browser

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func (b *fixture) savedFile(name string) (string, bool) {
	b.saved.mu.Lock()
	defer b.saved.mu.Unlock()
	text, ok := b.saved.files["downloads/"+name]
	return text, ok
}

// TestDownloads checks that the result of an action that starts a download contains the name
// and the size of the file.
func TestDownloads(t *testing.T) {
	t.Parallel()
	b := atShop(t)
	for _, c := range []struct {
		do         string // click on it
		says, file string
	}{
		{"Plain", `downloaded "downloads/plain.bin", 9 bytes`, "plain.bin"},
		{"Plain", `downloaded "downloads/plain-2.bin", 9 bytes`, "plain-2.bin"},
		{"Marked", `downloaded "downloads/named.bin", 9 bytes`, "named.bin"},
		{"Blank", `downloaded "downloads/blank.bin", 9 bytes`, "blank.bin"},
		{"Script", `downloaded "downloads/script.bin", 9 bytes`, "script.bin"},
		{"Made", `downloaded "downloads/made.bin", 9 bytes`, "made.bin"},
		{"Paper", `downloaded "downloads/paper.pdf", 9 bytes; the browser does not show PDF files: read it with a command`,
			"paper.pdf"},
	} {
		page := b.do(Request{Action: Open, URL: shop + "/files.html"})
		said := b.do(Request{Action: Click, Ref: b.ref(page, `"`+c.do+`"`)})
		// On a busy machine the page may begin the download after the result.
		for n := 0; n < 60 && !strings.Contains(said, c.says); n++ {
			said = b.do(Request{Action: Wait, Millis: 500})
		}
		if wantContains(t, said, c.says); strings.Contains(said, "current tab") {
			t.Errorf("a closed tab is reported:\n%s", said)
		}
		if text, ok := b.savedFile(c.file); !ok || text != "%PDF late" {
			t.Errorf("%s is %q", c.file, text)
		}
	}
	page := b.do(Request{Action: Open, URL: shop + "/files.html"})
	wantContains(t, b.do(Request{Action: Type, Ref: b.ref(page, `"Text"`), Text: "sent", Submit: true}),
		`downloaded "downloads/sent.txt", 4 bytes`)
	wantContains(t, b.do(Request{Action: Click, Ref: b.ref(page, `"Open"`)}), `downloaded "downloads/embedded.pdf"`)
	// a link to another site is not a download
	wantContains(t, b.do(Request{Action: Click, Ref: b.ref(page, `"Elsewhere"`)}), `button "Inner"`)
	wantContains(t, b.do(Request{Action: Open, URL: shop + "/late/opened.pdf"}),
		`downloaded "downloads/opened.pdf", 9 bytes; the browser does not show PDF`)
	page = b.do(Request{Action: Open, URL: shop + "/table.html"})
	wantContains(t, b.do(Request{Action: Click, Ref: b.ref(page, `link "The report"`)}), `downloaded "downloads/`,
		`report.pdf", 1005 bytes`)
	for name := range b.saved.files {
		if !strings.HasPrefix(name, "downloads/") || strings.Contains(name, "..") {
			t.Errorf("saved is %q", name)
		}
	}
	b.do(Request{Action: Close})
}

func TestSlowDownload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := newFixture(t, map[string]*httptest.Server{"shop.example": s.Server})
	page := b.do(Request{Action: Open, URL: shop + "/files.html"})
	wantContains(t, b.do(Request{Action: Click, Ref: b.ref(page, `"Long"`)}), `"long.bin" is being downloaded, `,
		" bytes so far; use the action wait")
	close(s.goOn)
	wantContains(t, b.do(Request{Action: Wait}), `downloaded "downloads/long.bin", 3000000 bytes`)
	b.do(Request{Action: Close})
}

func TestDownloadOverLimit(t *testing.T) {
	t.Parallel()
	b := atShop(t, func(o *Options) { o.MaxDownload = 1000 })
	page := b.do(Request{Action: Open, URL: shop + "/file/big.pdf"})
	wantContains(t, page, `big.pdf" was not downloaded`)
	if len(b.saved.files) != 0 {
		t.Error("the file was saved")
	}
}
