package browser

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"

	"github.com/mcp-tools/mcp-tools/internal/browser/profiles"
	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// The content of a profile is an archive: the cookies as DevTools describes them, which has those that Chromium itself
// forgets at its end, and the files of the storage that sites have. Other files of Chromium, such as its caches, are not
// part of a login, and ten times as large. Storage is kept as files since DevTools exports it only for pages that are
// open, and keys of sites that cannot be exported not at all.

const (
	cookiesMember = "cookies.json"
	saveDelay     = 2 * time.Second  // after a request
	saveEvery     = 30 * time.Second // pages change their storage without requests, too
	cookieTime    = 5 * time.Second
	saveTime      = 20 * time.Second
	maxMasked     = 300 // values of cookies
	minMasked     = 8   // bytes of a value that is masked without its name
	maxKept       = 5000
	liveTries     = 3
)

// keptDirs are the directories of a user data directory that a profile has.
func keptDirs() []string { return []string{"Local Storage", "IndexedDB"} }

// A profile is the profile of a session.
type profile struct {
	held  *profiles.Held
	files *os.Root      // the directory Default of the user data directory
	dirty chan struct{} // holds an element after a request

	mu      sync.Mutex // held while the content is read and saved
	closed  bool       // the content is final
	cookies []*network.Cookie
	masked  []string // values
	pairs   map[string]bool
}

// takeProfile opens the profile that the session is to have.
func (s *session) takeProfile(ctx context.Context) error {
	if s.profileName == "" {
		return nil
	}
	if s.o.Profiles == nil {
		return tool.Errorf(tool.Unavailable, "this server keeps no profiles").Try("omit profile")
	}
	key := profiles.Key{Agent: s.who.Agent, User: s.who.User, Name: s.profileName}
	held, err := s.o.Profiles.Take(key, s.owner.session)
	for used := (*profiles.InUse)(nil); errors.As(err, &used); held, err = s.o.Profiles.Take(key, s.owner.session) {
		if used.By == nil || used.By.PID != os.Getpid() || used.By.Session != s.owner.session {
			return err
		}
		if clock.Sleep(ctx, pollInterval) != nil { // until the former browser of this conversation has been closed
			return err
		}
	}
	if err != nil {
		return err
	}
	s.profile = &profile{held: held, dirty: make(chan struct{}, 1), pairs: map[string]bool{}}
	return nil
}

// restore puts the files of the profile into new directories.
func (p *profile) restore(ctx context.Context, d *directories) (err error) {
	if p == nil {
		return nil
	}
	if p.files, err = os.OpenRoot(filepath.Join(d.profile, "Default")); err != nil {
		return err
	}
	content, err := p.held.Load(ctx)
	if err != nil || content == nil {
		return err
	}
	archive := tar.NewReader(bytes.NewReader(content))
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the profile is damaged: %w", err)
		}
		if head.Name == cookiesMember {
			err = json.NewDecoder(archive).Decode(&p.cookies)
		} else {
			err = p.restoreFile(head.Name, archive)
		}
		if err != nil {
			return fmt.Errorf("restoring a profile: %w", err)
		}
	}
}

func (p *profile) restoreFile(name string, content io.Reader) error {
	if err := p.files.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := p.files.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// restoreCookies gives the browser the cookies of the profile.
func (s *session) restoreCookies(ctx context.Context) error {
	if s.profile == nil {
		return nil
	}
	var all []*network.CookieParam
	now := float64(time.Now().Unix())
	for _, c := range s.profile.cookies {
		if c.Session || c.Expires > now {
			all = append(all, param(c))
		}
	}
	set := func(some ...*network.CookieParam) error {
		return run(ctx, endpoint{s.conn, ""}, storage.SetCookies, storage.SetCookiesParams{Cookies: some})
	}
	if len(all) == 0 || set(all...) == nil {
		return s.readCookies(ctx)
	}
	for _, c := range all { // one that this Chromium does not take does not cost the others
		if err := set(c); err != nil {
			s.o.Log.Warn("a cookie of a profile was not restored", "err", err)
		}
	}
	return s.readCookies(ctx)
}

// param returns the parameters that make a cookie. A cookie for one host gets no domain, or it would be one for all hosts
// below.
func param(c *network.Cookie) *network.CookieParam {
	p := &network.CookieParam{
		Name: c.Name, Value: c.Value, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly, SameSite: c.SameSite,
		Priority: c.Priority, SourceScheme: c.SourceScheme, SourcePort: c.SourcePort, PartitionKey: c.PartitionKey,
	}
	if !c.Session {
		p.Expires = cdp.TimeSinceEpoch(c.Expires)
	}
	if strings.HasPrefix(c.Domain, ".") {
		p.Domain = c.Domain
		return p
	}
	u := url.URL{Scheme: "http", Host: c.Domain, Path: c.Path}
	if c.Secure || c.SourceScheme == network.CookieSourceSchemeSecure {
		u.Scheme = "https"
	}
	if c.SourcePort > 0 {
		u.Host += ":" + strconv.FormatInt(c.SourcePort, 10)
	}
	p.URL = u.String()
	return p
}

// readCookies reads the cookies of the browser and has their values masked.
func (s *session) readCookies(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cookieTime)
	defer cancel()
	found, err := call(ctx, endpoint{s.conn, ""}, storage.GetCookies, storage.GetCookiesParams{})
	if err != nil {
		return err
	}
	p := s.profile
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cookies = found.Cookies
	before := len(p.masked)
	for _, c := range found.Cookies {
		if pair := c.Name + "=" + c.Value; c.Value != "" && c.Name != "" && len(p.pairs) < maxMasked*4 {
			p.pairs[pair] = true
		}
		if len(c.Value) >= minMasked && (c.HTTPOnly || len(c.Value) >= 2*minMasked) && !slices.Contains(p.masked, c.Value) {
			p.masked = append(p.masked, c.Value)
		}
	}
	if len(p.masked) == before || s.o.Mask == nil {
		return nil
	}
	p.masked = slices.Clone(p.masked[max(0, len(p.masked)-maxMasked):])
	if err := s.o.Mask("browser profile "+s.owner.principal+" "+s.profileName, p.masked...); err != nil {
		s.o.Log.Debug("values of cookies are too common to be masked", "err", err)
	}
	return nil
}

// hide replaces the values of cookies beside their names. Values by themselves are masked with all results, if they are
// long enough.
func (p *profile) hide(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for pair := range p.pairs {
		list = append(list, pair)
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) }) // the longest first
	for _, pair := range list {
		name, _, _ := strings.Cut(pair, "=")
		text = strings.ReplaceAll(text, pair, name+"=[cookie]")
	}
	return text
}

// afterRequest reads the cookies that a request has changed, hides them and what a person has typed in its result, and has
// the profile saved soon.
func (s *session) afterRequest(ctx context.Context, v View, failed error) (View, error) {
	if p := s.profile; p != nil && s.alive() {
		select {
		case p.dirty <- struct{}{}:
		default:
		}
		if err := s.readCookies(ctx); err != nil && s.alive() {
			return View{}, tool.Errorf(tool.Unavailable, "the browser does not say which cookies it has, so that the result is not shown").
				Try("close the browser and open the page again").Because(err)
		}
	}
	v.Page, v.Source = s.hide(v.Page), s.hide(v.Source)
	for i := range v.Notes {
		v.Notes[i] = s.hide(v.Notes[i])
	}
	if known := (*tool.Error)(nil); errors.As(failed, &known) {
		hidden := *known
		hidden.What = s.hide(known.What)
		failed = &hidden
	}
	return v, failed
}

// keepSaving saves the profile after requests until the session ends.
func (s *session) keepSaving() {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.profile.dirty:
			select {
			case <-time.After(saveDelay):
			case <-s.ctx.Done():
				return
			}
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, saveTime)
		err := s.readCookies(ctx)
		if err == nil {
			err = s.profile.save(ctx, true)
		}
		if err != nil && s.ctx.Err() == nil && s.alive() {
			s.o.Log.Warn("a profile of a browser was not saved", "name", s.profileName, "err", err)
		}
		cancel()
	}
}

// save writes the content of the profile. live is set while the browser runs.
func (p *profile) save(ctx context.Context, live bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.files == nil {
		return nil
	}
	for range liveTries {
		before, err := p.list()
		if err != nil {
			return err
		}
		content, err := p.archive(before)
		if live {
			// Databases that are written while they are read are whole if they have the same files afterwards: those are
			// appended to, or written once.
			if after, listErr := p.list(); listErr != nil || !slices.Equal(before, after) || errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if err != nil {
			return err
		}
		return p.held.Save(ctx, content)
	}
	return nil // the next time
}

// list returns the names of the files to keep. A compromised browser can name them, and make them links.
func (p *profile) list() (names []string, err error) {
	for _, dir := range keptDirs() {
		err := fs.WalkDir(p.files.FS(), dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // removed meanwhile, or not there at all
			case err != nil:
				return err
			case d.Type().IsRegular() && d.Name() != "LOCK" && d.Name() != "LOG" && d.Name() != "LOG.old":
				names = append(names, name)
			}
			if len(names) > maxKept {
				return tool.Errorf(tool.TooLarge, "the sites have more than %d files", maxKept)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// archive returns the content of the profile with some files.
func (p *profile) archive(names []string) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	add := func(name string, content []byte) error {
		if out.Len()+len(content) > profiles.MaxSize {
			return tool.Errorf(tool.TooLarge, "the sites have stored more than %d MiB", profiles.MaxSize>>20)
		}
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))})
		if err == nil {
			_, err = archive.Write(content)
		}
		return err
	}
	cookies, err := json.Marshal(p.cookies)
	if err == nil {
		err = add(cookiesMember, cookies)
	}
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var content []byte
		if content, err = p.read(name); err == nil {
			err = add(name, content)
		}
	}
	return out.Bytes(), errors.Join(err, archive.Close())
}

func (p *profile) read(name string) ([]byte, error) {
	file, err := p.files.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%q is not a regular file", name))
	}
	return io.ReadAll(io.LimitReader(file, profiles.MaxSize+1))
}

// keepProfile ends the browser, so that it writes what it has, and saves the profile for the last time.
func (s *session) keepProfile() error {
	p := s.profile
	if p == nil {
		return nil
	}
	defer p.held.Release()
	if p.files == nil || s.program == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	var err error
	if s.alive() {
		err = s.readCookies(ctx)
		_ = run(ctx, endpoint{s.conn, ""}, cdpbrowser.Close, cdp.Empty{}) // it may end before it answers
		wait := time.NewTimer(exitTimeout)
		defer wait.Stop()
		select {
		case <-s.program.process.Done():
		case <-wait.C:
		}
	}
	err = errors.Join(err, s.program.process.Kill(), p.save(ctx, false))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return errors.Join(err, p.files.Close())
}

// otherProfile returns the error for a page that is to be opened with another profile than the browser has.
func (s *session) otherProfile(wanted string) error {
	has := "no profile"
	if s.profileName != "" {
		has = fmt.Sprintf("the profile %q", s.profileName)
	}
	return tool.Errorf(tool.Conflict, "your browser is open with %s, and a browser has one profile", has).
		Try("close it with {\"action\":\"close\"}, then open the page with the profile %q", wanted)
}
