package private

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// TestProtect checks who may use a new directory and a file in it.
func TestProtect(t *testing.T) {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("Wine shows modes of files in place of access lists")
	}
	dir := filepath.Join(t.TempDir(), "above", "data")
	if err := MakeDir(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, file} {
		sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
		if err != nil {
			t.Fatal(err)
		}
		text := sd.String()
		if n := strings.Count(text, "(A;"); n != 2 || !strings.Contains(text, ";SY)") || strings.Contains(text, ";WD)") {
			t.Errorf("%s: %s", path, text)
		}
	}
}
