package agent

import (
	"fmt"
	"path"
	"strings"
)

// shellLine returns the command line by which cmd.exe, the shell of Windows, runs a program: a batch file, or a
// command for cmd.exe itself. It is "" for other programs: they split their command line as Go puts it together.
// cmd.exe knows no escapes within quotes, so a batch file is not started with arguments that contain certain
// characters: the text after such a character would run as a command that was never rated.
func shellLine(program string, argv []string) (string, error) {
	const cmd = `cmd.exe /d /v:off /s /c "`
	name := strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/")))
	switch {
	case name == "cmd.exe" || name == "cmd":
		for i, word := range argv[1:] {
			if strings.EqualFold(word, "/c") {
				// The command is the rest of the line, without the first and the last quote.
				return cmd + strings.Join(argv[i+2:], " ") + `"`, nil
			}
		}
		return "", nil
	case !strings.HasSuffix(name, ".bat") && !strings.HasSuffix(name, ".cmd"):
		return "", nil
	}
	line := cmd + `"` + program + `"`
	for _, word := range append([]string{program}, argv[1:]...) {
		if i := strings.IndexAny(word, "\"%\r\n"); i >= 0 {
			return "", fmt.Errorf("the batch file %s cannot get the character %q; start the program that it starts, "+
				"or put the text into a file", name, word[i])
		}
	}
	for _, word := range argv[1:] {
		tail := word[len(strings.TrimRight(word, `\`)):] // a backslash before a quote would escape it for other programs
		line += ` "` + word + tail + `"`
	}
	return line + `"`, nil
}
