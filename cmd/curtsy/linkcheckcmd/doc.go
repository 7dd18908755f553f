// Package linkcheckcmd is the command that says which links of a site are broken.
package linkcheckcmd
