import { exploreTests } from '@heddle/explore/vitest';
import models from './directory.explore.js';

exploreTests(models);
