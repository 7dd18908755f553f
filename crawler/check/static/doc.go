// Package static serves a folder like a static web host, so that its links can be checked before publication. It
// follows no link out of the folder, runs nothing, and lists no folder.
package static
