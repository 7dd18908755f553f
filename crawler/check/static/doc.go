// Package static serves a folder of files as the server of a static site does, so that its links can be checked before it
// is published: index.html for a folder, 404.html for what is not there. It follows no link out of the folder, runs
// nothing, and lists no folder.
package static
