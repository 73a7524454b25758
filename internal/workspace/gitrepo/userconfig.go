package gitrepo

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// UserConfig returns a function that returns the path of a file with the git name and
// e-mail of the user of this process, for commands of that user; "" for others, and
// if they are not known. It asks git at the first command. The file is in the directory data.
func UserConfig(data, user string, log *slog.Logger) func(tool.Caller) string {
	path := sync.OnceValue(func() string {
		path, err := writeUserConfig(data)
		if err != nil {
			log.Warn("commands do not know the user's git name and e-mail", "err", err)
			return ""
		}
		return path
	})
	return func(c tool.Caller) string {
		if c.User == "" || c.User != user {
			return ""
		}
		return path()
	}
}

func writeUserConfig(data string) (string, error) {
	text := "[include]\n\tpath = /etc/gitconfig\n[user]\n"
	quote, known := strings.NewReplacer(`\`, `\\`, `"`, `\"`), false
	for _, name := range []string{"name", "email"} {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		value, err := exec.CommandContext(ctx, "git", "config", "--global", "--get", "user."+name).Output()
		cancel()
		if value := strings.TrimSpace(string(value)); err == nil && value != "" {
			text += fmt.Sprintf("\t%s = \"%s\"\n", name, quote.Replace(value))
			known = true
		}
	}
	if !known {
		return "", nil
	}
	// A temporary file, since other processes may write the same one. Commands may
	// run as another user, and the directory is private.
	file, err := os.CreateTemp(data, "gitconfig-*")
	if err != nil {
		return "", err
	}
	path := filepath.Join(data, "gitconfig")
	_, err = file.WriteString(text)
	for _, err := range []error{err, file.Chmod(0o644), file.Close(), os.Rename(file.Name(), path)} {
		if err != nil {
			_ = os.Remove(file.Name())
			return "", err
		}
	}
	return path, nil
}
