// Package identity is the command that shows and keeps who crawls: the fields that requests carry, and what proves a host
// to be one's own.
package identity
