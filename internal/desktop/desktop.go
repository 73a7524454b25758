// Package desktop shows notifications on the desktop of this machine's user: with notify-send, with osascript,
// or as a toast of Windows.
//
// It knows these programs and their use of a text: no text becomes an argument that is an option, or markup. It does
// not know the subject of notifications. Begin with [Notifier.Show].
package desktop

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Notifier shows notifications, one after the other, without a wait for its callers. Close it at the end.
type Notifier struct {
	system string // as runtime.GOOS
	runner program.Runner
	env    []string
	log    *slog.Logger
	queue  chan string
	end    context.CancelFunc
	done   sync.WaitGroup
}

const (
	// maxQueued is the maximum number of waiting notifications. Further ones are dropped: to a person they make no
	// difference.
	maxQueued = 5
	// timeLimit is the time for one notification.
	timeLimit = 10 * time.Second
	// maxText is the size of a text in bytes.
	maxText = 400
)

// variables are the environment variables that lead programs to the desktop.
func variables() []string {
	return []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}
}

// New returns a Notifier for this system. Programs are found in PATH.
func New(getenv func(string) string, log *slog.Logger) *Notifier {
	return newFor(runtime.GOOS, getenv, log)
}

func newFor(system string, getenv func(string) string, log *slog.Logger) *Notifier {
	n := &Notifier{
		system: system, runner: program.Runner{Tiers: sandbox.NewTiers(&host.Launcher{})}, log: log,
		queue: make(chan string, maxQueued),
	}
	for _, name := range variables() {
		if value := getenv(name); value != "" {
			n.env = append(n.env, name+"="+value)
		}
	}
	ctx, end := context.WithCancel(context.Background())
	n.end = end
	n.done.Go(func() { n.run(ctx) })
	return n
}

// Close stops the Notifier. Notifications that wait are not shown.
func (n *Notifier) Close() error {
	n.end()
	n.done.Wait()
	return nil
}

// Show shows a notification soon, or drops it if too many wait. It does not wait.
func (n *Notifier) Show(body string) {
	select {
	case n.queue <- body:
	default:
		n.log.Debug("a notification was dropped: others wait")
	}
}

// run shows notifications until ctx ends. It reports the first failure of several equal ones.
func (n *Notifier) run(ctx context.Context) {
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case body := <-n.queue:
			err := n.show(ctx, body)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				last = ""
			case err.Error() != last:
				last = err.Error()
				n.log.Warn("a notification could not be shown on the desktop (approvals.desktop)", "err", err)
			}
		}
	}
}

// show runs the program of the system.
func (n *Notifier) show(ctx context.Context, body string) error {
	s := n.command(body)
	s.Tier, s.Timeout, s.Env = sandbox.Host, timeLimit, append(s.Env, n.env...)
	ctx, cancel := context.WithTimeout(ctx, 2*timeLimit)
	defer cancel()
	err := n.runner.Run(ctx, s, nil, nil)
	if errors.Is(err, program.ErrMissing) {
		return errors.New(s.Argv[0] + " is not installed")
	}
	return err
}

// title is of all notifications, and no text of an agent.
const title = "mcp-tools"

// command returns the program that shows a text, with the text where it can only be text.
func (n *Notifier) command(body string) program.Spec {
	body = text.Clip(tool.Visible(body), maxText)
	switch n.system {
	case "darwin": // the script gets the text as data; the words after the title are no options
		return program.Spec{Argv: []string{
			"osascript", "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)",
			"-e", "end run", title, body,
		}}
	case "windows":
		return program.Spec{
			Argv: []string{"powershell.exe", "-NoProfile", "-NonInteractive", "-Command", toast},
			Env:  []string{"MCP_TOOLS_NOTICE_TITLE=" + title, "MCP_TOOLS_NOTICE=" + body},
		}
	}
	// notify-send reads escapes such as \n in the text, and desktops read markup there.
	body = strings.NewReplacer(`\`, `\\`, "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(body)
	return program.Spec{Argv: []string{"notify-send", "--app-name=" + title, "--", title, body}}
}

// toast is a script of PowerShell. Its texts come from the environment, and become text nodes.
const toast = `$ErrorActionPreference = 'Stop'
$null = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$texts = $xml.GetElementsByTagName('text')
$null = $texts.Item(0).AppendChild($xml.CreateTextNode($env:MCP_TOOLS_NOTICE_TITLE))
$null = $texts.Item(1).AppendChild($xml.CreateTextNode($env:MCP_TOOLS_NOTICE))
$app = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe'
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($app).Show([Windows.UI.Notifications.ToastNotification]::new($xml))`
