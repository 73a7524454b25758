package app

import "time"

// Limits that no setting changes.
const (
	maxMessage        = 5 << 20 // bytes of one message from a client
	maxSessions       = 1000    // at a time over HTTP
	sessionIdle       = 30 * time.Minute
	readHeaderTimeout = 10 * time.Second

	grace       = 10 * time.Second // for running calls when the server stops
	perBurst    = 6                // a burst is at most this part of the calls of a minute
	maxCalls    = 10               // calls of one session that run at the same time
	maxTotal    = 128              // calls of all sessions that run at the same time; of one user at most half
	maxIdle     = 500              // calls of one user that only wait, and hold no slot for it
	maxRepeated = 10               // equal calls in a row, then a tool that only reads is refused
	maxQueued   = 100              // calls of one session that wait
	maxResult   = 10 << 20         // bytes of one result that is kept

	callTimeout = 30 * time.Second // of a call, unless its tool has another limit

	maxResults         = 500       // results kept of one user of an agent
	maxResultsBytes    = 256 << 20 // their bytes
	maxAllResultsBytes = 4 << 30   // bytes of the results kept

	maxIndexMemory = 256 << 20 // bytes of the indexes of workspaces
	historyAge     = 30 * 24 * time.Hour

	maxMemories      = 100_000 // of one user of an agent
	maxMemoriesBytes = 1 << 30

	maxCommandTime = time.Hour        // of a command in the foreground
	maxProcesses   = 1024             // of one command
	maxFileSize    = 1 << 30          // bytes of a file that a command writes
	sandboxIdle    = 10 * time.Minute // a sandbox without commands for so long is closed
	sandboxAge     = 24 * time.Hour   // an older sandbox is replaced when nothing runs in it

	maxEmbeddings = 64 // texts of one request to the embeddings endpoint
)
