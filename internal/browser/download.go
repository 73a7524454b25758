package browser

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxDownloads = 10 // that are in progress or not yet reported
	downloadDir  = "downloads"
)

// A download is a file that the browser downloads.
type download struct {
	id       string // also its name in the browser's directory
	name     string // its name in the workspace
	received int64
	done     bool
	failed   bool
}

// downloadStarted handles the start of a download. The caller holds s.mu.
func (s *session) downloadStarted(e cdpbrowser.EventDownloadWillBegin) {
	if len(s.downloads) >= maxDownloads || s.o.Files == nil {
		s.note("the page started a download, which was refused")
		s.cancelDownload(e.GUID)
		return
	}
	s.downloadExpected = time.Time{}
	s.downloads = append(s.downloads, &download{id: e.GUID, name: safeFileName(e.SuggestedFilename)})
}

// downloadProgress handles the progress or the end of a download. The caller holds s.mu.
func (s *session) downloadProgress(e cdpbrowser.EventDownloadProgress) {
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
	s.inBackground(func(ctx context.Context) {
		_ = run(ctx, endpoint{s.conn, ""}, cdpbrowser.CancelDownload, cdpbrowser.CancelDownloadParams{GUID: id})
	})
}

// expectDownload makes waitIdle wait a short time for a download: the browser sends no
// event between a click on a download link and the start of the download.
func (s *session) expectDownload() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.downloadExpected = time.Now().Add(slowRequest)
}

// downloadPending reports whether a download is in progress or expected. The caller holds
// s.mu.
func (s *session) downloadPending(now time.Time) bool {
	return now.Before(s.downloadExpected) || slices.ContainsFunc(s.downloads, func(d *download) bool { return !d.done })
}

// saveDownloads saves finished downloads in the caller's files and adds notes about all
// downloads.
func (s *session) saveDownloads(ctx context.Context) {
	s.mu.Lock()
	var done, waiting []*download
	for _, d := range s.downloads {
		if d.done {
			done = append(done, d)
		} else {
			waiting = append(waiting, d)
			s.note("%q is being downloaded, %d bytes so far; use the action wait", d.name, d.received)
		}
	}
	s.downloads = waiting
	s.mu.Unlock()
	for _, d := range done {
		text := s.saveDownload(ctx, d)
		s.mu.Lock()
		s.note("%s", text)
		s.mu.Unlock()
	}
}

// saveDownload saves a download and returns a note about it.
func (s *session) saveDownload(ctx context.Context, d *download) string {
	if d.failed {
		return fmt.Sprintf("%q was not downloaded: the download failed, or is larger than %d bytes", d.name,
			s.o.MaxDownload)
	}
	file, size, err := s.openDownloaded(d)
	if err != nil {
		s.o.Log.Warn("a download cannot be read", "err", err)
		return fmt.Sprintf("%q was downloaded, but cannot be read", d.name)
	}
	defer func() {
		_ = file.Close()                             // it was read only
		_ = s.program.dirs.downloadRoot.Remove(d.id) // if this fails, it is deleted with the browser
	}()
	name, err := s.o.Files.Add(ctx, downloadDir+"/"+d.name, io.LimitReader(file, s.o.MaxDownload))
	if err != nil {
		return fmt.Sprintf("%q was downloaded, but not saved: %v", d.name, tool.AsError(err))
	}
	text := fmt.Sprintf("downloaded %q, %d bytes", name, size)
	if strings.EqualFold(filepath.Ext(d.name), ".pdf") {
		text += "; the browser does not show PDF files: read it with a command, or look for an HTML version"
	}
	return text
}

// openDownloaded opens a file in the browser's directory. It checks that it is a regular
// file, because the browser may be under the control of an attacker.
func (s *session) openDownloaded(d *download) (*os.File, int64, error) {
	if d.id == "" || strings.Trim(d.id, "0123456789abcdefABCDEF-") != "" {
		return nil, 0, fmt.Errorf("invalid download name %q", d.id)
	}
	file, err := s.program.dirs.downloadRoot.OpenFile(d.id, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > s.o.MaxDownload) {
		err = fmt.Errorf("the download is not a regular file, or is too large: %s", info.Mode())
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// maxFileName is the maximum length of a file name without its extension, in bytes.
const maxFileName = 60

var (
	unsafeInNames = regexp.MustCompile(`[^a-zA-Z0-9._-]`)
	// reservedNames are the names of devices on Windows, and hidden and empty names.
	reservedNames = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d)?(\.|$)`)
)

// safeFileName returns a file name made of the characters of a suggested name that are
// safe on all systems.
func safeFileName(suggested string) string {
	name := unsafeInNames.ReplaceAllString(suggested, "_")
	ending := filepath.Ext(name)
	if len(ending) > 12 {
		ending = ""
	}
	name = strings.Trim(strings.TrimSuffix(name, ending), "._-")
	if reservedNames.MatchString(name) {
		name = strings.TrimSuffix("file-"+name, "-")
	}
	return strings.TrimRight(name[:min(len(name), maxFileName)], "._-") + strings.TrimRight(ending, ".")
}
