// Package messaging sends messages to people, through the services that the settings name.
//
// [Outbox.Put] is the only way to send: a message that it adds in a transaction is sent after the commit, by whichever
// process runs the outbox, at least once. A message that was perhaps sent before is sent once more, with a mark, unless
// the service recognizes it.
//
// The package does not know the services (packages beneath tools/messaging/chat), and nothing of messages from people
// (package inbound). Begin with [Outbox].
package messaging
