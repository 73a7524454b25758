// Package markdown splits texts in Markdown: into chunks for a search index, into
// headings, into front matter and body, and into plain text. It knows the syntax
// (CommonMark with tables, as far as that decides what belongs together). It does
// not know where a text comes from, who may see it, or what the pieces are used
// for. Every text is valid Markdown; only front matter can be invalid. Time and
// memory are linear in the length of the text.
//
// Begin with [Chunks] and [FrontMatter]; the scanner in block.go is what
// Chunks, [Outline] and [Plain] read the text with.
package markdown
