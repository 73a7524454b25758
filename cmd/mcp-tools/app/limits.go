package app

import "time"

// Limits that no setting changes.
const (
	maxMessage        = 5 << 20 // bytes of one message from a client
	maxSessions       = 1000    // at a time over HTTP
	sessionIdle       = 30 * time.Minute
	readHeaderTimeout = 10 * time.Second

	maxQueued = 100      // calls of one session that wait
	maxResult = 10 << 20 // bytes of one result that is kept

	maxResults = 500 // results kept
	resultAge  = 24 * time.Hour

	maxIndexMemory = 256 << 20 // bytes of the indexes of workspaces

	commandTimeout = 300 * time.Second // of a command in a sandbox, when the call has none
	maxBackground  = 16                // commands of one session in the background
	finishedAge    = 30 * time.Minute  // of the output of a finished background command
	maxOutput      = 64 << 20          // bytes kept of the output of one command

	maxFileSize = 1 << 30          // bytes of a file that a command writes
	sandboxIdle = 10 * time.Minute // a sandbox in which nothing has run for so long is closed
	sandboxAge  = 24 * time.Hour   // an older sandbox is replaced when nothing runs in it

	maxPage       = 10 << 20  // bytes of a page that is fetched
	maxDownload   = 1 << 30   // bytes of a file that is downloaded into the workspace
	maxPageCache  = 256 << 20 // bytes of pages on the disk
	searchAge     = 15 * time.Minute
	browserIdle   = 10 * time.Minute
	maxEmbeddings = 64 // texts of one request to the embeddings endpoint
)

// signatureAlgorithms returns the signatures of OAuth tokens that count.
func signatureAlgorithms() []string { return []string{"RS256", "PS256", "ES256", "EdDSA"} }
