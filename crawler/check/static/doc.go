// Package static serves a folder like a static web host, so that its links can be checked before publication. It does not
// follow links out of the folder, run scripts, or list folders.
package static
