// Package markdown takes texts in Markdown apart: into chunks for a search
// index, into the headings they have, into front matter and body, and into
// plain text. It knows the syntax (CommonMark with tables, as far as it decides
// what belongs together) and nothing of where a text comes from, who may see it
// or what becomes of the pieces; it imports nothing but the standard library.
// Every text is taken: there is no Markdown that is wrong, only front matter
// is. Time and memory are linear in the length of the text.
//
// Begin with [Chunks] and [FrontMatter]; the scanner in block.go is what
// Chunks, [Outline] and [Plain] read the text with.
package markdown
