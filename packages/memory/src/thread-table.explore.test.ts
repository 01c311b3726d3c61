import { exploreTests } from '@heddle/explore/vitest';
import models from './thread-table.explore.js';

exploreTests(models);
