#!/usr/bin/env node
// Beside the build, so that the link to it can be made before there is one.
import '../dist/cli.js';
