package segment

import "os"

// TempPattern is what files are called that are not finished.
const TempPattern = "*.tmp"

// createTemp makes a file for what is not finished. Its lock tells others that
// somebody is at it; it ends with the process, whatever that dies of.
func createTemp(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, TempPattern)
	if err == nil {
		tryLock(file)
	}
	return file, err
}

// Abandoned reports whether nobody is at an unfinished file any more. It says
// no where that cannot be told, and may say yes of one that was made just now.
func Abandoned(name string) bool {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return tryLock(file)
}
