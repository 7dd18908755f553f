// Package hook runs commands of the user's at the end of a crawl, and when something is wrong with it. No shell is between:
// a command is cut into its arguments first, and what comes from the web is put into single arguments then.
package hook
