package browser

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	cdpbrowser "github.com/chromedp/cdproto/browser"

	"github.com/mcp-tools/mcp-tools/tools"
)

const (
	mostDownloads = 10 // that are going on, or wait to be told of
	downloadDir   = "downloads"
)

// A download is a file that a page hands over.
type download struct {
	id       string // and its name in the browser's directory
	name     string // as the page has it
	received int64
	done     bool
	failed   bool
}

// downloadBegins is when one begins. The lock is held.
func (s *session) downloadBegins(e cdpbrowser.EventDownloadWillBegin) {
	if len(s.downloads) >= mostDownloads || s.o.Files == nil {
		s.note("the page wanted to hand over a file, which was refused")
		s.cancelDownload(e.GUID)
		return
	}
	s.downloads = append(s.downloads, &download{id: e.GUID, name: e.SuggestedFilename})
}

// downloadGoesOn is when there is more of it, or it has ended. The lock is held.
func (s *session) downloadGoesOn(e cdpbrowser.EventDownloadProgress) {
	for _, d := range s.downloads {
		if d.id != e.GUID || d.done {
			continue
		}
		d.received = int64(e.ReceivedBytes)
		switch {
		case e.State == cdpbrowser.DownloadProgressStateCompleted:
			d.done = true
		case e.State == cdpbrowser.DownloadProgressStateCanceled:
			d.done, d.failed = true, true
		case d.received > s.o.MaxDownload || int64(e.TotalBytes) > s.o.MaxDownload:
			d.done, d.failed = true, true
			s.cancelDownload(d.id)
		}
	}
}

func (s *session) cancelDownload(id string) {
	s.later(func(ctx context.Context) {
		_ = tell(ctx, line{s.link, ""}, cdpbrowser.CancelDownload, cdpbrowser.CancelDownloadParams{GUID: id})
	})
}

// downloading reports whether a file is on its way. The lock is held.
func (s *session) downloading() bool {
	for _, d := range s.downloads {
		if !d.done {
			return true
		}
	}
	return false
}

// saveDownloads hands what has arrived to the caller, and tells of it.
func (s *session) saveDownloads(ctx context.Context) {
	s.mu.Lock()
	var done, waiting []*download
	for _, d := range s.downloads {
		if d.done {
			done = append(done, d)
		} else {
			waiting = append(waiting, d)
			s.note("a file is still on its way, %d bytes of it are here; wait to have it", d.received)
		}
	}
	s.downloads = waiting
	s.mu.Unlock()
	for _, d := range done {
		said := s.saveDownload(ctx, d)
		s.mu.Lock()
		s.note("%s", said)
		s.mu.Unlock()
	}
}

// saveDownload hands one file over, and says what became of it.
func (s *session) saveDownload(ctx context.Context, d *download) string {
	if d.failed {
		return fmt.Sprintf("a file was not downloaded: it failed, or has more than %d bytes", s.o.MaxDownload)
	}
	file, size, err := s.arrived(d)
	if err != nil {
		s.o.Log.Warn("a download cannot be read", "err", err)
		return "a file was downloaded, and is not there"
	}
	defer func() {
		_ = file.Close()                          // it was read only
		_ = s.program.place.arrivals.Remove(d.id) // or it goes with the browser
	}()
	name, err := s.o.Files.Save(ctx, filepath.ToSlash(filepath.Join(downloadDir, fileName(d.name, d.id))), io.LimitReader(file, s.o.MaxDownload))
	if err != nil {
		return "a file was downloaded, and could not be saved: " + tools.AsError(err).Error()
	}
	return fmt.Sprintf("downloaded %q, %d bytes", name, size)
}

// arrived opens what the browser has put into its directory, if it is a file:
// the browser may be somebody else's by now.
func (s *session) arrived(d *download) (*os.File, int64, error) {
	if d.id == "" || strings.Trim(d.id, "0123456789abcdefABCDEF-") != "" {
		return nil, 0, fmt.Errorf("%q is no name of a download", d.id)
	}
	file, err := s.program.place.arrivals.OpenFile(d.id, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > s.o.MaxDownload) {
		err = fmt.Errorf("what was downloaded is no file, or too large: %s", info.Mode())
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// fileName is what a file is called here: what is left of its name that means
// nothing to any system, and a part of its id, so that it takes no other's place.
func fileName(suggested, id string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, suggested)
	ending := filepath.Ext(name)
	if len(ending) > 12 {
		ending = ""
	}
	name = strings.Trim(strings.TrimSuffix(name, ending), "._-")
	if name == "" {
		name = "file"
	}
	return name[:min(len(name), 60)] + "-" + strings.ToLower(id[:min(len(id), 6)]) + strings.TrimRight(ending, ".")
}
